// An adapter for bookmarks in memory. `protocol.ts` contains what every adapter needs.

import { randomBytes } from "node:crypto";
import { Failure, field, invalid, objectType, operation, serve } from "./protocol.ts";
import type { Json } from "./protocol.ts";

const URL = field("url", "string", "The address.", { required: true, minLength: 1, maxLength: 2000 });
const TITLE = field("title", "string", "The title.", { required: true, minLength: 1, maxLength: 200 });
const RATING = field("rating", "integer", "From 1 (poor) to 5 (excellent).", { minimum: 1, maximum: 5, default: 3 });
const TAGS = field("tags", "array", "Labels, in the given order.", { items: { type: "string" }, default: [] });
const NOTE = field("note", "string", "A remark.", { maxLength: 5000 });
const SOURCE = field("source", "Source", "The origin of the bookmark.");
const ID = field("bookmark_id", "string", "The bookmark.", { required: true, minLength: 1, maxLength: 40 });
const CREATED = field("created_at", "string", "When it was created.", { required: true, format: "date-time" });

const PRESETS: Record<string, string[]> = {
  minimal: ["bookmark_id", "title"],
  standard: ["bookmark_id", "title", "url", "rating", "tags"],
  full: ["bookmark_id", "title", "url", "rating", "tags", "note", "source", "created_at"],
};
const PATHS = [...PRESETS.full, "source.author", "source.language"];
const FIELDS = field("fields", "string or array", `minimal, standard, full, or a list of paths: ${PATHS.join(", ")}.`,
  { items: { type: "string" } });

objectType("Bookmark", "A bookmark.", [ID, URL, TITLE, RATING, TAGS, NOTE, SOURCE, CREATED]);
objectType("Source", "The origin of a bookmark.", [
  field("author", "string", "The author.", { maxLength: 200 }),
  field("language", "string", "A code such as en.", { maxLength: 10 })]);
objectType("BookmarkList", "Bookmarks.", [
  field("items", "array", "The bookmarks, the oldest first.", { required: true, items: { type: "Bookmark" } })]);
objectType("BookmarkChanges", "Fields to change.", [URL, TITLE, RATING, TAGS, NOTE, SOURCE], { isPartial: true });
objectType("BookmarkFilter", "Values that must be equal.", [URL, TITLE, RATING], { isPartial: true });
objectType("Deleted", "A deleted bookmark.", [ID]);

const bookmarks = new Map<string, Json>();

function stored(id: string): Json {
  const found = bookmarks.get(id);
  if (!found) {
    throw new Failure("NOT_FOUND_RESOURCE", `Resource 'bookmark' not found: '${id}'`,
      { resource_type: "bookmark", resource_id: id });
  }
  return found;
}

operation("create_bookmark", "CREATE", "Create a bookmark.", [URL, TITLE, RATING, TAGS, NOTE, SOURCE], "Bookmark",
  { url: "https://example.org", title: "Example", source: { author: "Ada", language: "en" } },
  (values) => {
    const bookmark = { bookmark_id: `b-${randomBytes(4).toString("hex")}`, ...values,
      created_at: new Date().toISOString() };
    bookmarks.set(bookmark.bookmark_id, bookmark);
    return { bookmark };
  });

operation("get_bookmark", "READ", "Get one bookmark.", [ID, FIELDS], "Bookmark", { bookmark_id: "b-1" },
  ({ bookmark_id, fields = "full" }) => ({ bookmark: select(stored(bookmark_id), pathsOf(fields)) }));

operation("list_bookmarks", "READ", "List all bookmarks, the oldest first.",
  [field("filter", "BookmarkFilter", "Conditions that must all hold."), FIELDS], "BookmarkList",
  { filter: { rating: 5 }, fields: ["title", "source.author"] },
  ({ filter = {}, fields = "standard" }) => {
    const paths = pathsOf(fields);
    const isFound = (it: Json) => Object.keys(filter).every((name) => it[name] === filter[name]);
    return { items: [...bookmarks.values()].filter(isFound).map((it) => select(it, paths)) };
  });

operation("update_bookmark", "UPDATE",
  "Change fields of a bookmark. Fields that `input` omits stay unchanged; null removes one.",
  [ID, field("input", "BookmarkChanges", "Fields to change.", { required: true })], "Bookmark",
  { bookmark_id: "b-1", input: { title: "New", note: null } },
  ({ bookmark_id, input }) => {
    const bookmark = merge(stored(bookmark_id), input);
    bookmarks.set(bookmark_id, bookmark);
    return { bookmark };
  });

operation("delete_bookmark", "DELETE", "Delete a bookmark.", [ID], "Deleted", { bookmark_id: "b-1" },
  ({ bookmark_id }) => {
    bookmarks.delete(stored(bookmark_id).bookmark_id);
    return { bookmark_id };
  });

function merge(old: Json, changes: Json): Json {
  const merged = { ...old };
  for (const [name, value] of Object.entries(changes)) {
    const isObject = value !== null && typeof value === "object" && !Array.isArray(value);
    merged[name] = isObject ? merge(merged[name] ?? {}, value) : value;
    if (value === null) delete merged[name];
  }
  return merged;
}

function pathsOf(fields: string | string[]): string[] {
  const paths = typeof fields !== "string" ? fields : Object.hasOwn(PRESETS, fields) ? PRESETS[fields] : undefined;
  if (!paths || !paths.every((path) => PATHS.includes(path))) {
    throw invalid("fields", `must be one of ${Object.keys(PRESETS).join(", ")}, or a list of: ${PATHS.join(", ")}`);
  }
  return paths;
}

// Returns these fields. Fields that the bookmark does not have are left out.
function select(bookmark: Json, paths: string[]): Json {
  const selected: Json = {};
  for (const path of paths) {
    const [name, inner] = path.split(".");
    if (!inner && name in bookmark) selected[name] = bookmark[name];
    else if (inner && inner in (bookmark[name] ?? {})) {
      selected[name] = { ...selected[name], [inner]: bookmark[name][inner] };
    }
  }
  return selected;
}

await serve("bookmarks", "0.1.0");
