"use strict";
// The operator console. What agents wrote is put on the page as text and nothing else, with characters
// that cannot be seen, or that turn text around, made visible.
(() => {
  const POLL_MS = 1000;
  const PATIENCE_MS = 5000;
  const CODE_SHOWN_MS = 60000;
  const SHIELD_MS = 700;
  const AUDIT_ROWS = 200;
  const TOAST_MS = 6000;
  /** More cards than this are shown closer together. */
  const MANY = 6;
  const TOKEN = "mcp-aql-console-token";
  const KEYS_OFF = "mcp-aql-console-keys-off";
  const NOTIFY = "mcp-aql-console-notify";
  const SOUND = "mcp-aql-console-sound";
  const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

  const KINDS = {
    operation: { chip: "Approval", tone: "accent", title: "Run this operation once?" },
    start: { chip: "Approval", tone: "accent", title: "May this agent start?" },
    step: { chip: "Approval", tone: "accent", title: "May this agent take this step?" },
    verify: { chip: "Verification", tone: "warn", title: "Verify this step" },
    block: { chip: "Blocked", tone: "danger", title: "May this blocked agent continue?" },
  };
  // Why a code is worth nothing before its time is up, and what comes next.
  const VOID = {
    wrong_code: {
      short: "Code void",
      text: "A wrong code was given. A challenge allows one attempt, so its code is no longer valid. Press New code and tell the agent the new code, or unblock the agent.",
    },
    denied: {
      short: "Denied",
      text: "It was denied, and the agent stays blocked. Press New code to decide again, or unblock the agent.",
    },
  };
  const TONES = {
    good: ["allowed", "approved", "confirmed", "verified", "succeeded", "completed", "consumed", "granted", "success"],
    danger: ["denied", "blocked", "failed", "aborted", "refused", "rejected", "stopped", "revoked", "failure"],
    warn: ["pending", "expired", "issued", "paused", "waiting", "required", "cancelled", "timed_out"],
    accent: ["running", "pending_approval", "in_progress", "started"],
  };

  const $ = (id) => document.getElementById(id);
  const state = {
    overview: null,
    tag: null,
    offset: 0,
    failing: false,
    signedOut: false,
    lastSeen: null,
    order: [],
    codes: new Map(),
    /** The selected requests. */
    picked: new Set(),
    /** The long texts whose end was shown, by request. */
    read: new Set(),
    /** A context for sounds, once it is needed. */
    audio: null,
    busy: new Set(),
    shieldUntil: 0,
    asked: null,
    timer: 0,
    toast: 0,
    polling: false,
    again: false,
  };

  // --- Making elements -------------------------------------------------------------------------

  function el(name, properties, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(properties || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key === "class") node.className = value;
      else if (key === "onclick") node.addEventListener("click", value);
      else if (key === "strange") strange(node, value);
      else node.setAttribute(key, value === true ? "" : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  /** Puts an agent's text into a node. */
  function strange(node, text) {
    const parts = [];
    let plain = "";
    const flush = () => {
      for (const part of plain.split(/(\s+)/)) {
        const breaks = part.includes("-") && part.length <= 20;
        if (part) parts.push(breaks ? el("span", { class: "whole" }, part) : part);
      }
      plain = "";
    };
    for (const character of String(text)) {
      if (character === "\n" || character === "\t" || !HIDDEN.test(character)) {
        plain += character;
        continue;
      }
      flush();
      const name = "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
      parts.push(el("span", { class: "sign", title: "a character that cannot be seen" }, name));
    }
    flush();
    node.classList.add("strange");
    node.replaceChildren(...parts);
    return node;
  }

  /** Makes a list hold these nodes; those that stay are not touched, so focus stays as well. */
  function fill(list, nodes) {
    const wanted = new Set(nodes);
    for (const child of [...list.children]) if (!wanted.has(child)) child.remove();
    nodes.forEach((node, place) => {
      if (list.children[place] !== node) list.insertBefore(node, list.children[place] || null);
    });
  }

  /** Nodes by key, made anew when their content has changed. */
  function cache(make) {
    let known = new Map();
    return (entries) => {
      const next = new Map();
      const nodes = entries.map(([key, value]) => {
        const content = JSON.stringify(value);
        let entry = known.get(key);
        if (!entry) entry = { content, node: make(value, null, key) };
        else if (entry.content !== content) entry = { content, node: make(value, entry.node, key) };
        next.set(key, entry);
        return entry.node;
      });
      known = next;
      return nodes;
    };
  }

  function tone(word) {
    const plain = String(word || "").toLowerCase();
    return Object.keys(TONES).find((each) => TONES[each].includes(plain)) || "";
  }

  const words = (text) => String(text || "").replaceAll("_", " ").toLowerCase();
  const sentence = (text) => { const plain = words(text); return plain.charAt(0).toUpperCase() + plain.slice(1); };
  const now = () => Date.now() + state.offset;
  const announce = (text) => { $("announcer").textContent = ""; setTimeout(() => { $("announcer").textContent = text; }, 50); };
  /** For those who listen and those who look. */
  function tell(text) {
    announce(text);
    $("toast").textContent = text;
    $("toast").hidden = false;
    clearTimeout(state.toast);
    state.toast = setTimeout(() => { $("toast").hidden = true; }, TOAST_MS);
  }

  const short = (text) => { const all = [...String(text)]; return all.length > 120 ? all.slice(0, 120).join("") + "…" : all.join(""); };

  function ago(at) {
    const seconds = Math.max(0, Math.round((now() - Date.parse(at)) / 1000));
    if (seconds < 60) return "just now";
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
    if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
    return `${Math.floor(seconds / 86400)} d ago`;
  }

  const since = (at) => el("time", { datetime: at, title: new Date(at).toLocaleString(), "data-since": at }, ago(at));

  // --- Talking to the server -------------------------------------------------------------------

  function token() {
    const found = /^#token=([\w-]+)$/.exec(location.hash);
    if (found) {
      localStorage.setItem(TOKEN, found[1]);
      history.replaceState(null, "", "/");
    }
    return localStorage.getItem(TOKEN) || "";
  }

  function ask(path, options) {
    return fetch(path, {
      cache: "no-store",
      redirect: "error",
      signal: AbortSignal.timeout(PATIENCE_MS),
      ...options,
      headers: { "X-Console-Token": token(), ...(options && options.headers) },
    });
  }

  async function poll() {
    if (state.polling) {
      state.again = true;
      return;
    }
    clearTimeout(state.timer);
    state.polling = true;
    await look();
    state.polling = false;
    if (!state.signedOut) state.timer = setTimeout(poll, state.again ? 0 : POLL_MS);
    state.again = false;
  }

  async function look() {
    if (state.signedOut) return;
    try {
      const answer = await ask("/api/overview", { headers: state.tag ? { "If-None-Match": state.tag } : {} });
      if (answer.status === 401 || answer.status === 403) return signedOut();
      if (answer.status !== 200 && answer.status !== 304) throw new Error((await answer.json()).error);
      const date = Date.parse(answer.headers.get("Date") || "");
      // The header counts whole seconds: only a clock that is really off counts.
      if (date) state.offset = Math.abs(date - Date.now()) > 2000 ? date - Date.now() : 0;
      if (answer.status === 200) {
        const overview = await answer.json();
        show(overview);
        // Only now: what could not be shown is asked for again.
        state.tag = answer.headers.get("ETag");
      }
      state.lastSeen = new Date();
      connected();
    } catch (error) {
      lost(error);
    }
  }

  function connected() {
    const was = state.failing;
    state.failing = false;
    document.body.classList.remove("stale");
    $("live").dataset.state = "on";
    $("live-text").textContent = "Live";
    $("banner").hidden = true;
    if (was) {
      shield();
      announce("The connection is back.");
    }
    enable();
  }

  function lost(error) {
    const first = !state.failing;
    state.failing = true;
    document.body.classList.add("stale");
    $("live").dataset.state = "off";
    $("live-text").textContent = "Not connected";
    const seen = state.lastSeen ? ` This page shows the state of ${state.lastSeen.toLocaleTimeString()}.` : "";
    const server = error instanceof TypeError || error.name === "TimeoutError" ? "Connection lost." : `The server has a problem: ${error.message}.`;
    const text = `${server}${seen} Trying again every second.`;
    if ($("banner").textContent !== text) $("banner").textContent = text;
    $("banner").hidden = false;
    if (first) shield();
    enable();
  }

  /** What waits, and whether that is certain, also when another tab is in front. */
  function title() {
    if (state.signedOut || !state.overview) return;
    const open = waiting().length;
    const blocked = state.overview.blocks.length;
    const text = `${state.failing ? "Not connected – " : ""}${open ? `(${open}) ` : ""}${blocked ? `${blocked} blocked – ` : ""}Operator console – ${state.overview.adapter}`;
    if (document.title !== text) document.title = text;
  }

  function signedOut() {
    state.signedOut = true;
    state.codes.clear();
    localStorage.removeItem(TOKEN);
    if ($("ask").open) $("ask").close("no");
    $("main").hidden = true;
    $("sign-out").hidden = true;
    $("live").dataset.state = "off";
    $("live-text").textContent = "Signed out";
    $("banner").textContent = "You are signed out. Open a new login link to continue.";
    $("banner").hidden = false;
    document.title = "Signed out – Operator console";
  }

  /** While nothing is known for sure nothing can be decided. */
  function enable() {
    for (const button of document.querySelectorAll("main button")) {
      const { subject, act } = button.dataset;
      button.disabled = state.failing || state.busy.has(subject) || act === "approve" && unread(subject);
    }
    title();
  }

  /** A click that was meant for what stood here a moment ago counts for nothing. */
  function shield() {
    state.shieldUntil = performance.now() + SHIELD_MS;
  }

  function shielded(event) {
    // Keys and assistive tools press what has the focus, wherever it stands.
    if (event.detail === 0 || performance.now() > state.shieldUntil) return false;
    tell("The page has just changed: look again before you click.");
    return true;
  }

  async function act(subject, path, done) {
    if (state.busy.has(subject) || state.failing) return null;
    state.busy.add(subject);
    enable();
    try {
      const answer = await ask(path, { method: "POST" });
      if (answer.status === 401 || answer.status === 403) return signedOut();
      const content = answer.status === 204 ? {} : await answer.json();
      if (!answer.ok) throw new Error(content.error);
      if (done) tell(done);
      return content;
    } catch (error) {
      tell(`The request failed: ${error.message}`);
      return null;
    } finally {
      state.busy.delete(subject);
      enable();
      poll();
    }
  }

  // --- Decisions -------------------------------------------------------------------------------

  const request = (id) => state.overview.requests.find((each) => each.id === id);
  const agentOf = (subject) => state.overview.agents.find((each) => `stop ${each.agent}` === subject);
  const block = (agent) => state.overview.blocks.find((each) => each.agent === agent);
  /** The request of a blocked agent is on the card of its block. */
  const ofBlock = (each) => each.kind === "block" && block(each.agent) !== undefined;
  const waiting = () => state.overview.requests.filter((each) => !ofBlock(each));
  const whose = (agent) => agent === null ? "A client" : `Agent ${agent}`;

  /** Asks before it is done. */
  function confirmed(question) {
    const dialog = $("ask");
    if (dialog.open) return;
    $("ask-title").textContent = question.title;
    $("ask-what").replaceChildren(...question.what.flatMap((each) => [
      el("p", { class: "asker", strange: whose(each.agent) }), el("pre", { strange: each.action })]));
    $("ask-note").textContent = question.note;
    $("ask-yes").textContent = question.yes;
    $("ask-yes").classList.toggle("stern", question.stern);
    const back = document.activeElement;
    state.asked = question;
    dialog.returnValue = "no";
    dialog.onclose = () => {
      state.asked = null;
      if (back && back.isConnected) back.focus();
      if (dialog.returnValue === "yes") question.then();
    };
    dialog.showModal();
    $("ask-what").scrollTop = 0;
    const whole = !more($("ask-what"));
    $("ask-yes").disabled = question.reads && !whole;
    (!whole ? $("ask-what") : question.stern ? $("ask-no") : $("ask-yes")).focus();
  }

  // --- Long texts ------------------------------------------------------------------------------

  /** Shows the sign under a text whose end is not in sight, and returns whether there is such an end. */
  function more(box) {
    const rest = box.scrollHeight - box.clientHeight - box.scrollTop > 2;
    const sign = box.parentNode.querySelector(".more");
    if (sign) sign.hidden = !rest;
    return rest;
  }

  const card = (id) => document.querySelector(`[data-request="${CSS.escape(id)}"]`);

  /** Whether the end of a request's text was never in sight. */
  function unread(id) {
    const found = card(id);
    const box = found && found.querySelector(".action");
    return Boolean(box) && !state.read.has(id) && box.scrollHeight - box.clientHeight > 2;
  }

  /** Marks what is in sight. */
  function measure(box) {
    const rest = more(box);
    if (box.id === "ask-what") {
      if (!rest) $("ask-yes").disabled = false;
      return;
    }
    const holder = box.closest("[data-request]");
    if (!rest && holder && box.clientHeight && box.scrollTop) state.read.add(holder.dataset.request);
  }

  function measureAll() {
    for (const box of document.querySelectorAll("main .action")) measure(box);
    enable();
  }

  const hint = (text, label) => el("div", { class: "hint" },
    el("pre", { class: "action", strange: text, ...(text.length > 200 ? { tabindex: "0", role: "group", "aria-label": label } : {}) }),
    el("button", { type: "button", class: "more", hidden: true, onclick: (event) => scrollOn(event.currentTarget) }, "More below"));

  function scrollOn(sign) {
    const box = sign.parentNode.querySelector(".action");
    box.scrollTop += Math.max(box.clientHeight - 24, 24);
    box.focus({ preventScroll: true });
  }

  function decide(id, approve, sure) {
    const asked = request(id);
    if (!asked) return;
    if (VOID[asked.void]) return tell(VOID[asked.void].text);
    const verb = approve ? "approve" : "deny";
    const path = `/api/requests/${encodeURIComponent(id)}/${verb}`;
    const done = approve ? "Approved." : "Denied.";
    const go = () => act(id, path, done);
    if (sure) return go();
    const blocked = asked.kind === "block";
    const notes = approve
      ? { block: "The agent may continue and do this once, without the code. To let it continue without doing this, choose Unblock.", verify: "Approving counts as if the code had been given." }
      : { block: "It stays blocked." };
    confirmed({
      subject: id,
      title: approve ? (blocked ? "Let this agent continue?" : "Approve this?") : "Deny this?",
      what: [asked],
      reads: approve,
      note: notes[asked.kind] || (approve ? "The agent may do it once." : "The agent is told that it may not do this."),
      yes: approve ? "Approve" : "Deny",
      stern: approve && blocked,
      then: go,
    });
  }

  async function toggleCode(id) {
    if (state.codes.has(id)) return hideCode(id);
    const asked = request(id);
    if (!asked || !asked.has_code) return tell("This process does not have the code: issue a new one.");
    const content = await act(id, `/api/requests/${encodeURIComponent(id)}/code`, "");
    if (!content) return;
    const timer = setTimeout(() => hideCode(id), CODE_SHOWN_MS);
    state.codes.set(id, { code: content.code, expires: asked.expires_at, timer });
    codes();
    announce(`The code is ${[...content.code].join(" ")}`);
  }

  function hideCode(id) {
    const shown = state.codes.get(id);
    if (!shown) return;
    clearTimeout(shown.timer);
    state.codes.delete(id);
    codes();
  }

  async function copy(code) {
    try {
      await navigator.clipboard.writeText(code);
      tell("Copied.");
    } catch {
      tell("The browser does not allow copying: select the code and copy it yourself.");
    }
  }

  async function renew(id) {
    hideCode(id);
    if (await act(id, `/api/requests/${encodeURIComponent(id)}/renew`, "A new code was issued. The old one is no longer valid.")) {
      shield();
    }
  }

  function unblock(agent) {
    const blocked = block(agent);
    if (!blocked) return;
    confirmed({
      subject: agent,
      title: "Unblock this agent?",
      what: [blocked],
      note: "The agent may continue without a code. The same action would block it again. Make sure that you know why it was blocked.",
      yes: "Unblock",
      stern: true,
      then: () => act(agent, `/api/agents/${encodeURIComponent(agent)}/unblock`, "Unblocked."),
    });
  }

  function stop(agent) {
    const running = agentOf(`stop ${agent}`);
    if (!running) return;
    confirmed({
      subject: `stop ${agent}`,
      title: "Stop this agent?",
      what: [{ agent, action: running.last_action === null ? "It has not reported an action." : running.last_action }],
      note: "The agent and its session stay blocked until you unblock the agent. An action in progress is not undone.",
      yes: "Stop",
      stern: true,
      then: () => act(`stop ${agent}`, `/api/agents/${encodeURIComponent(agent)}/stop`, "Stopped."),
    });
  }

  // --- Several at once ---------------------------------------------------------------------------

  const decidable = (each) => each.kind !== "block" && !VOID[each.void];

  /** The requests that the filter shows. */
  function matching() {
    const text = $("request-text").value.trim().toLowerCase();
    const kind = $("request-kind").value;
    const searched = (each) => [each.action, each.agent, each.client, each.session, ...each.reasons].filter(Boolean).join("\n").toLowerCase();
    return state.order.map(request).filter((each) => each && !ofBlock(each) && (!kind || each.kind === kind) && (!text || searched(each).includes(text)));
  }

  const chosen = () => matching().filter((each) => decidable(each) && state.picked.has(each.id));

  function group(each) {
    switch ($("request-group").value) {
      case "agent": return whose(each.agent);
      case "client": return each.client || (each.session ? `Session ${each.session}` : "Without a session");
      case "action": return each.action.trim().split(/\s/, 1)[0];
      default: return "";
    }
  }

  function pick(ids, on) {
    for (const id of ids) on ? state.picked.add(id) : state.picked.delete(id);
    requests();
  }

  function several() {
    const can = matching().filter(decidable);
    const picked = chosen();
    $("several").hidden = can.length < 2 && picked.length === 0;
    $("several").classList.toggle("on", picked.length > 0);
    $("several-all").checked = picked.length > 0 && picked.length === can.length;
    $("several-all").indeterminate = picked.length > 0 && picked.length < can.length;
    $("several-text").textContent = picked.length ? `${picked.length} selected` : `Select all ${can.length}`;
    for (const [name, verb] of [["approve", "Approve"], ["deny", "Deny"]]) {
      $(`several-${name}`).hidden = picked.length === 0;
      $(`several-${name}`).textContent = `${verb} ${picked.length} …`;
    }
  }

  function decideSeveral(approve) {
    const asked = chosen();
    if (!asked.length) return;
    confirmed({
      subjects: asked.map((each) => each.id),
      title: `${approve ? "Approve" : "Deny"} ${asked.length === 1 ? "this request" : `these ${asked.length} requests`}?`,
      what: asked,
      note: approve ? "Each may be done once." : "The agents are told that they may not do this.",
      yes: approve ? "Approve all" : "Deny all",
      stern: false,
      reads: approve,
      then: () => send(asked, approve),
    });
  }

  /** Decides one after the other: what fails does not keep the rest. */
  async function send(asked, approve) {
    let done = 0;
    for (const each of asked) {
      if (await act(each.id, `/api/requests/${encodeURIComponent(each.id)}/${approve ? "approve" : "deny"}`, "")) done += 1;
      if (state.signedOut || state.failing) break;
      state.picked.delete(each.id);
    }
    const failed = asked.length - done;
    tell(`${done} ${approve ? "approved" : "denied"}${failed ? `, ${failed} failed: somebody else answered them, or they have expired` : ""}.`);
  }

  // --- Alerts ------------------------------------------------------------------------------------

  /** Calls somebody who does not look at the page. */
  function call(text, stern) {
    if (document.hasFocus() && !document.hidden) return;
    if (localStorage.getItem(NOTIFY) && window.Notification && Notification.permission === "granted") {
      const note = new Notification(stern ? "An agent is blocked" : "A request waits for you", { body: text, tag: "mcp-aql-console" });
      note.onclick = () => { window.focus(); note.close(); };
    }
    if (localStorage.getItem(SOUND)) sound(stern);
  }

  async function sound(stern) {
    try {
      state.audio = state.audio || new AudioContext();
      await state.audio.resume();
      const start = state.audio.currentTime;
      const volume = state.audio.createGain();
      volume.gain.setValueAtTime(0.15, start);
      volume.gain.exponentialRampToValueAtTime(0.001, start + 0.6);
      volume.connect(state.audio.destination);
      (stern ? [440, 330] : [660, 880]).forEach((pitch, place) => {
        const tone = state.audio.createOscillator();
        tone.frequency.value = pitch;
        tone.connect(volume);
        tone.start(start + place * 0.2);
        tone.stop(start + 0.2 + place * 0.4);
      });
    } catch {
      // The browser does not allow a sound before the page was used.
    }
  }

  function showAlerts() {
    const denied = !window.Notification || Notification.permission === "denied";
    $("notify-on").checked = !denied && localStorage.getItem(NOTIFY) !== null && Notification.permission === "granted";
    $("notify-on").disabled = !window.Notification;
    $("sound-on").checked = localStorage.getItem(SOUND) !== null;
    $("alerts-note").textContent = denied ? "The browser does not allow notifications of this page: see its settings." : "";
  }

  async function setNotify() {
    const on = $("notify-on").checked;
    if (on && window.Notification && await Notification.requestPermission() === "granted") localStorage.setItem(NOTIFY, "1");
    else localStorage.removeItem(NOTIFY);
    showAlerts();
  }

  // --- The lists -------------------------------------------------------------------------------

  function button(text, key, subject, properties, run) {
    const name = properties.about ? `${text}: ${properties.about}` : null;
    const node = el("button", { type: "button", class: properties.class, "data-subject": subject, "data-act": properties.act, "aria-label": name, "aria-keyshortcuts": key, "aria-expanded": properties.expanded }, text);
    node.addEventListener("click", (event) => { if (!shielded(event)) run(); });
    return node;
  }

  /** Who asks: the agent, its client and session, and since when. */
  function who(view) {
    const parts = view.agent === undefined ? [] : [view.agent === null ? "A client outside of the safety loop" : el("span", {}, "Agent ", el("b", { strange: view.agent }))];
    if (view.client) parts.push(el("span", {}, "client ", el("span", { strange: view.client })));
    if (view.session) parts.push(el("span", {}, "session ", el("code", { strange: view.session })));
    const at = view.asked_at || view.since;
    if (at) parts.push(el("span", {}, view.since ? "blocked " : "asked ", since(at)));
    return el("p", { class: "who" }, ...parts);
  }

  /** The buttons of a request, on its own card or on that of a block. */
  function decisions(view) {
    const about = short(view.action);
    const sure = view.kind !== "block" && view.kind !== "verify";
    const gone = VOID[view.void];
    const { id } = view;
    return [
      gone || view.stopped ? null : button(sure ? "Approve" : "Approve …", "a", id, { class: view.kind === "block" ? "stern" : "primary", act: "approve", about }, () => decide(id, true, sure)),
      gone || view.stopped ? null : button("Deny", "d", id, { act: "deny", about }, () => decide(id, false, true)),
      el("span", { class: "gap" }),
      view.has_code && !gone ? button("Show code", "c", id, { class: "quiet", act: "code", about, expanded: "false" }, () => toggleCode(id)) : null,
      button("New code", "n", id, { class: "quiet", act: "renew", about }, () => renew(id)),
    ];
  }

  const reasons = (list) => list.length ? el("ul", { class: "why", "aria-label": "Why you are asked" }, ...list.map((reason) => el("li", { strange: reason }))) : null;

  /** Puts new content into a card; the focus stays on the same button. */
  function renewed(old, content) {
    const focused = old.contains(document.activeElement) && document.activeElement.dataset.act;
    old.replaceChildren(...content.filter(Boolean));
    if (focused) (old.querySelector(`[data-act="${focused}"]`) || old).focus();
    return old;
  }

  function requestCard(view, old, id) {
    const kind = KINDS[view.kind] || { chip: words(view.kind), tone: "", title: "A request" };
    const title = el("h3", { id: `title-${id}` }, kind.title);
    const gone = VOID[view.void];
    const box = decidable(view) ? el("input", { type: "checkbox", class: "pick", "data-pick": id, "aria-label": `Select: ${short(view.action)}` }) : null;
    if (box) box.addEventListener("change", () => pick([id], box.checked));
    const content = [
      el("div", { class: "top" },
        el("span", { class: "kind" }, box, el("span", { class: "chip", "data-tone": kind.tone }, kind.chip)),
        gone
          ? el("span", { class: "left", "data-tone": "danger" }, gone.short)
          : el("span", { class: "left", "data-expires": view.expires_at })),
      title,
      who(view),
      hint(view.action, "What is about to happen"),
      reasons(view.reasons),
      gone ? el("p", { class: "void" }, gone.text) : null,
      el("div", { class: "code", hidden: true }),
      el("div", { class: "buttons" }, ...decisions(view).filter(Boolean)),
    ];
    if (old) return renewed(old, content);
    return el("li", { class: "card new", tabindex: "-1", "data-request": id, "aria-labelledby": title.id }, ...content.filter(Boolean));
  }

  function groupRow([name, ids]) {
    const all = el("button", { type: "button", class: "quiet", "aria-label": `Select these ${ids.length}: ${short(name)}` }, `Select these ${ids.length}`);
    all.addEventListener("click", () => pick(ids, ids.some((id) => !state.picked.has(id))));
    return el("li", { class: "group" }, el("h3", { strange: name }), ids.length ? all : null);
  }

  /** Fills the list of requests as filter and groups want it. */
  function requests() {
    const shown = matching();
    const groups = new Map();
    for (const each of shown) groups.set(group(each), [...(groups.get(group(each)) || []), each]);
    const grouped = $("request-group").value !== "";
    const cards = new Map(requestNodes(shown.map((each) => [each.id, each])).map((node) => [node.dataset.request, node]));
    const heads = groupNodes(grouped ? [...groups].map(([name, of]) => [name, [name, of.filter(decidable).map((each) => each.id)]]) : []);
    fill($("request-list"), [...groups.values()].flatMap((of, place) => [...(grouped ? [heads[place]] : []), ...of.map((each) => cards.get(each.id))]));
    for (const box of document.querySelectorAll("[data-pick]")) box.checked = state.picked.has(box.dataset.pick);
    const all = waiting().length;
    $("request-tools").hidden = all < 2 && !$("request-text").value && !$("request-kind").value;
    $("requests-none").hidden = !all || shown.length > 0;
    $("request-list").classList.toggle("many", shown.length > MANY);
    several();
    codes();
    measureAll();
  }

  function codes() {
    for (const card of document.querySelectorAll("[data-request]")) {
      const id = card.dataset.request;
      const asked = request(id);
      // It was answered, and its card is about to go.
      if (!asked) continue;
      const shown = state.codes.get(id);
      const place = card.querySelector(".code");
      const toggle = card.querySelector('[data-act="code"]');
      if (toggle) {
        toggle.setAttribute("aria-expanded", String(Boolean(shown)));
        toggle.textContent = shown ? "Hide code" : "Show code";
        toggle.setAttribute("aria-label", `${shown ? "Hide" : "Show"} code: ${short(asked.action)}`);
      }
      if (place.hidden !== !shown) shield();
      place.hidden = !shown;
      if (!shown) {
        place.replaceChildren();
      } else if (!place.firstChild) {
        const challenge = ["verify", "block"].includes(asked.kind);
        place.replaceChildren(
          el("output", {}, shown.code),
          el("div", {},
            el("p", {}, "Tell it to the agent, for ", el("code", {}, challenge ? "verify_challenge" : "confirm_operation"),
              challenge ? " with the challenge " : ".", challenge ? el("code", { strange: id }) : null, challenge ? "." : null, " It hides again after a minute."),
            button("Copy", null, id, { act: "copy" }, () => copy(shown.code))));
      }
    }
  }

  function blockCard(view, old) {
    const asked = view.request;
    const gone = asked && VOID[asked.void];
    const content = [
      el("div", { class: "top" },
        el("span", { class: "chip", "data-tone": "danger" }, "Blocked"),
        gone ? el("span", { class: "left", "data-tone": "danger" }, gone.short) : asked ? el("span", { class: "left", "data-expires": asked.expires_at }) : null),
      el("h3", { strange: view.agent }),
      // The title has the name.
      who({ ...asked, ...view, agent: undefined }),
      hint(view.action, "What the agent was stopped for"),
      asked ? reasons(asked.reasons) : el("p", { strange: view.reason }),
      gone ? el("p", { class: "void" }, gone.text) : null,
      el("div", { class: "code", hidden: true }),
      el("div", { class: "buttons" },
        button("Unblock …", "u", view.agent, { class: "stern", act: "unblock", about: view.agent }, () => unblock(view.agent)),
        ...(asked ? decisions({ ...asked, stopped: view.stopped }) : []).filter(Boolean)),
    ];
    if (old) {
      if (asked) old.dataset.request = asked.id;
      else delete old.dataset.request;
      return renewed(old, content);
    }
    return el("li", { class: "card block", tabindex: "-1", "data-block": view.agent, "data-request": asked && asked.id }, ...content.filter(Boolean));
  }

  function directive(value) {
    if (value === null || typeof value !== "object") return null;
    const [text, kind] = value.stopped ? ["Stopped", "danger"] : value.continue === false ? ["Must wait", "warn"] : value.continue === true ? ["May continue", "good"] : ["Told", ""];
    const reason = typeof value.reason === "string" ? value.reason : text === "Told" ? JSON.stringify(value) : "";
    return el("p", { class: "directive", "data-tone": kind }, el("b", {}, text), reason ? ": " : null, reason ? el("span", { strange: reason }) : null);
  }

  const agentRow = (view) => el("li", { class: "agent" },
    el("div", { class: "top" }, el("h3", { strange: view.agent }), el("span", { class: "chip", "data-tone": tone(view.status) }, sentence(view.status))),
    view.client ? el("p", { class: "facts", strange: view.client }) : null,
    view.last_action === null ? null : el("p", { class: "last", strange: view.last_action, title: view.last_action }),
    directive(view.directive),
    el("p", { class: "facts" }, el("span", {}, `${view.steps} ${view.steps === 1 ? "step" : "steps"}`), el("span", {}, "began ", since(view.started_at))),
    view.status === "running" && state.overview.mode === "enforcing" ? el("div", { class: "buttons" }, button("Stop …", null, `stop ${view.agent}`, { class: "stern", act: "stop", about: view.agent }, () => stop(view.agent))) : null);

  /** The time of an entry, with its day unless that is today. */
  function moment(at) {
    const time = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
    return at.toDateString() === new Date(now()).toDateString() ? time : `${at.toLocaleDateString([], { month: "short", day: "numeric" })} ${time}`;
  }

  function auditRow(entry) {
    const at = Date.parse(entry.timestamp || "");
    const time = el("time", { datetime: entry.timestamp, title: at ? new Date(at).toLocaleString() : null }, at ? moment(new Date(at)) : "");
    const about = [entry.agent, entry.operation].filter(Boolean).join(" · ");
    const text = el("span", { class: "event" }, el("b", { strange: sentence(entry.event) }));
    if (about) text.append(" ", el("span", { strange: about }));
    const action = entry.action;
    if (action) text.append(" ", el("code", { strange: short(action) }));
    const why = entry.reason || entry.failure_reason;
    if (why) text.append(" ", el("span", { class: "about", strange: why }));
    const by = [entry.operator, entry.decided_by].filter(Boolean).join(", ");
    if (by) text.append(" ", el("span", { class: "about", strange: `(by ${by})` }));
    return el("li", {}, el("details", {},
      el("summary", {}, time, el("span", { class: "chip", "data-tone": tone(entry.outcome), strange: sentence(entry.outcome) }), text),
      el("pre", { strange: JSON.stringify(entry, null, 2), tabindex: "0", role: "region", "aria-label": "The whole entry" })));
  }

  const requestNodes = cache(requestCard);
  const groupNodes = cache((value) => groupRow(value));
  const blockNodes = cache(blockCard);
  const agentNodes = cache((view) => agentRow(view));
  const auditNodes = cache((entry) => auditRow(entry));

  function numbered(entries) {
    const counts = new Map();
    return entries.map((entry) => {
      const text = JSON.stringify(entry);
      const count = (counts.get(text) || 0) + 1;
      counts.set(text, count);
      return [`${count} ${text}`, entry];
    });
  }

  function count(name, number) {
    const node = $(`${name}-count`);
    node.textContent = number;
    node.toggleAttribute("data-open", number > 0);
    const empty = $(`${name}-empty`);
    if (empty) empty.hidden = number > 0;
  }

  function show(overview) {
    const before = state.overview;
    state.overview = overview;
    const focused = document.activeElement && document.activeElement.closest("[data-request], [data-block]");
    const cards = focused ? selectable() : [];

    // What stands somewhere stays there: new requests come last, wherever the server has them. Blocks have a list
    // of their own above it.
    const ids = new Set(overview.requests.map((each) => each.id));
    const known = new Set(state.order);
    const gone = state.order.some((id) => !ids.has(id));
    const fresh = overview.requests.filter((each) => !known.has(each.id));
    state.order = [...state.order.filter((id) => ids.has(id)), ...fresh.map((each) => each.id)];
    for (const set of [state.picked, state.read]) for (const id of set) if (!ids.has(id)) set.delete(id);
    for (const [id, shown] of state.codes) {
      const asked = request(id);
      if (!asked || asked.expires_at !== shown.expires) hideCode(id);
    }
    const blocks = overview.blocks.map((each) => ({ ...each, request: overview.requests.find((ask) => ask.kind === "block" && ask.agent === each.agent) }));
    fill($("block-list"), blockNodes(blocks.map((each) => [each.agent, each])));
    $("blocks").hidden = blocks.length === 0;
    $("bar-blocked").hidden = blocks.length === 0;
    $("bar-blocked").textContent = `${blocks.length} blocked`;
    requests();
    // An agent that is blocked does not run, whatever its execution says.
    const status = (view) => overview.blocks.some((each) => each.agent === view.agent) ? "blocked" : view.status;
    fill($("agent-list"), agentNodes(overview.agents.map((each) => [each.execution_id + " " + each.agent, { ...each, status: status(each) }])));
    if (before && (gone || fresh.length || before.blocks.length !== overview.blocks.length)) shield();
    audit();
    unreadable(overview.unreadable);

    if (before) tries(before, overview);

    $("agent-list").hidden = overview.agents.length === 0;
    const open = waiting().length;
    count("requests", open);
    count("blocks", overview.blocks.length);
    count("agents", overview.agents.length);
    if (overview.more_agents) $("agents-count").textContent += "+";
    strange($("adapter"), overview.adapter);
    $("mode").hidden = !overview.mode;
    strange($("mode"), sentence(overview.mode));

    const about = state.asked ? state.asked.subjects || [state.asked.subject] : [];
    if (state.asked && !about.some((subject) => request(subject) || block(subject) || agentOf(subject))) {
      $("ask").close("no");
      tell("The request is closed: somebody answered it, a wrong code was given, or its time is up.");
    }
    // Whoever was on a card that is gone goes on with the next one.
    if (focused && !focused.isConnected && !$("ask").open) {
      const rest = selectable();
      const next = rest[Math.min(cards.indexOf(focused), rest.length - 1)];
      (next || $("requests")).focus();
    }
    if (!before) {
      announce(open ? `${open} ${open === 1 ? "request waits" : "requests wait"} for you.` : "Nothing waits for you.");
    } else {
      news(before, fresh);
    }
    tick();
    enable();
  }

  /** Tells what has arrived. */
  function news(before, fresh) {
    const old = new Set(before.blocks.map((each) => each.agent));
    const blocks = state.overview.blocks.filter((each) => !old.has(each.agent)).map((each) => `${whose(each.agent)} is blocked: ${short(each.action)}`);
    const asked = fresh.filter((each) => !ofBlock(each)).map((each) => `${whose(each.agent)}: ${short(each.action)}`);
    if (blocks.length) tell(blocks.join(" "));
    else if (asked.length) announce(asked.map((each) => `New request. ${each}`).join(" "));
    if (blocks.length || asked.length) call([...blocks, ...asked].slice(0, 3).join("\n"), blocks.length > 0);
  }

  /** Tells what became of requests whose code was guessed: those of steps are gone, those of blocks void. */
  function tries(before, overview) {
    for (const old of before.requests) {
      const still = request(old.id);
      if (still && still.void === "wrong_code" && !old.void) {
        tell(`${whose(old.agent)}: ${VOID.wrong_code.text}`);
      } else if (!still && overview.audit.some((entry) => entry.event === "CHALLENGE_FAILED" && entry.challenge_id === old.id)) {
        tell(`${whose(old.agent)}: A wrong code was given, and the challenge is no longer valid. When the agent reports the action again, you are asked again.`);
      }
    }
  }

  /** What is not among the rest, and may be a block. */
  function unreadable(records) {
    const text = JSON.stringify(records);
    if ($("unreadable").dataset.records === text) return;
    $("unreadable").dataset.records = text;
    $("unreadable").hidden = records.length === 0;
    const names = records.flatMap((each, place) => [place ? ", " : "", el("b", { strange: `${each.collection} ${each.key}` })]);
    const many = records.length === 1 ? "1 record" : `${records.length} records`;
    $("unreadable").replaceChildren(`${many} of the store cannot be read by this version, and may belong to a blocked agent or an open request: `, ...names, ". Everything else is shown.");
  }

  function audit() {
    const entries = state.overview.audit;
    const outcomes = [...new Set(entries.map((entry) => String(entry.outcome || "")))].filter(Boolean).sort();
    const select = $("audit-outcome");
    const chosen = select.value;
    if (chosen && !outcomes.includes(chosen)) outcomes.push(chosen);
    const options = [...select.options].slice(1).map((option) => option.value);
    if (JSON.stringify(options) !== JSON.stringify(outcomes)) {
      select.replaceChildren(select.options[0], ...outcomes.map((outcome) => el("option", { value: outcome }, sentence(outcome))));
      select.value = chosen;
    }
    const text = $("audit-text").value.trim().toLowerCase();
    const found = entries.filter((entry) => (!chosen || entry.outcome === chosen) && (!text || JSON.stringify(entry).toLowerCase().includes(text) || words(entry.event).includes(text)));
    fill($("audit-list"), auditNodes(numbered(found.slice(0, AUDIT_ROWS))));
    $("audit-list").hidden = found.length === 0;
    $("audit-empty").hidden = found.length > 0;
    $("audit-empty").textContent = entries.length ? "No entry matches." : "Nothing was decided yet.";
  }

  function tick() {
    for (const node of document.querySelectorAll("[data-expires]")) {
      const seconds = Math.floor((Date.parse(node.dataset.expires) - now()) / 1000);
      const minutes = Math.floor(seconds / 60);
      const text = seconds <= 0 ? "Code expired" : seconds >= 3600 ? `Code valid for ${Math.floor(minutes / 60)} h` : `Code valid for ${minutes}:${String(seconds % 60).padStart(2, "0")}`;
      if (node.textContent !== text) node.textContent = text;
      node.dataset.tone = seconds <= 0 ? "danger" : seconds < 60 ? "warn" : "";
    }
    for (const node of document.querySelectorAll("[data-since]")) {
      const text = ago(node.dataset.since);
      if (node.textContent !== text) node.textContent = text;
    }
  }

  // --- Keys ------------------------------------------------------------------------------------

  const selectable = () => [...document.querySelectorAll("main [data-request], main [data-block]")];

  function move(by) {
    const cards = selectable();
    if (!cards.length) return;
    const place = cards.findIndex((card) => card.contains(document.activeElement));
    const next = cards[place < 0 ? (by > 0 ? 0 : cards.length - 1) : Math.min(Math.max(place + by, 0), cards.length - 1)];
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  function key(event) {
    if (!keysOn() || event.ctrlKey || event.metaKey || event.altKey || event.repeat && !"jk".includes(event.key)) return;
    if (state.signedOut || document.querySelector("dialog[open]") || event.target.closest("input, select, textarea")) return;
    const card = event.target.closest("[data-request], [data-block]");
    const id = card && card.dataset.request;
    const agent = card && card.dataset.block;
    const keys = {
      j: () => move(1),
      k: () => move(-1),
      "/": () => { $("audit-fold").open = true; $("audit-text").focus(); },
      "?": () => $("help").showModal(),
      f: () => $("request-text").focus(),
      ...(id && card.querySelector("[data-pick]") ? { x: () => pick([id], !state.picked.has(id)) } : {}),
      ...(id ? { a: () => decide(id, true, false), d: () => decide(id, false, false), c: () => toggleCode(id), n: () => renew(id) } : {}),
      ...(agent ? { u: () => unblock(agent) } : {}),
    };
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    if (state.failing && !"jkf/?".includes(event.key)) return;
    keys[event.key]();
  }

  const keysOn = () => localStorage.getItem(KEYS_OFF) === null;

  function showKeys() {
    document.body.classList.toggle("keys-on", keysOn());
    $("keys-on").checked = keysOn();
  }

  document.addEventListener("keydown", key);
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("keys-on").addEventListener("change", () => {
    if ($("keys-on").checked) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "1");
    showKeys();
  });
  $("alerts-open").addEventListener("click", () => { showAlerts(); $("alerts").showModal(); });
  $("notify-on").addEventListener("change", setNotify);
  $("sound-on").addEventListener("change", () => {
    if ($("sound-on").checked) localStorage.setItem(SOUND, "1");
    else localStorage.removeItem(SOUND);
    if ($("sound-on").checked) sound(false);
  });
  for (const name of ["request-text", "request-kind", "request-group"]) $(name).addEventListener("input", requests);
  $("request-text").addEventListener("keydown", (event) => { if (event.key === "Escape") $("request-text").blur(); });
  $("several-all").addEventListener("change", () => pick(matching().filter(decidable).map((each) => each.id), $("several-all").checked));
  $("several-approve").addEventListener("click", (event) => { if (!shielded(event)) decideSeveral(true); });
  $("several-deny").addEventListener("click", (event) => { if (!shielded(event)) decideSeveral(false); });
  document.querySelector("#ask .more").addEventListener("click", (event) => scrollOn(event.currentTarget));
  document.addEventListener("scroll", (event) => {
    if (!(event.target instanceof Element) || !event.target.matches(".action")) return;
    measure(event.target);
    enable();
  }, true);
  addEventListener("resize", measureAll);
  $("audit-text").addEventListener("input", audit);
  $("audit-outcome").addEventListener("change", audit);
  $("audit-text").addEventListener("keydown", (event) => { if (event.key === "Escape") $("audit-text").blur(); });
  $("sign-out").addEventListener("click", async () => {
    if (await act("sign-out", "/api/logout", "")) signedOut();
    else if (!state.signedOut) tell("You are still signed in: the server did not answer.");
  });
  // A page that comes back shows what is true now.
  document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
  // On a narrow screen, the trail is most of the page.
  $("audit-fold").open = !matchMedia("(max-width: 30rem)").matches;
  token();
  showKeys();
  setInterval(tick, 1000);
  poll();
})();
