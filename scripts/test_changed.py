#!/usr/bin/env python3
"""Tests which checks `scripts/changed.py` chooses.

    scripts/test_changed.py
"""

import re
import unittest
from unittest import mock

import changed

ALWAYS = {"format", "spelling", "structure", "selection"}
# What people read, and no program: spelling and structure check it.
PROSE = ("CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md",
         ".gitignore", "rustfmt.toml", "_typos.toml", "deny.toml")

# What no step runs, and what the steps run that every change needs.
ELSEWHERE = ("scripts/build-times.py", "scripts/transcripts.py", "scripts/changed.py",
             "scripts/test_changed.py", ".ci/run")


def choice(*paths, differing=()):
    """Returns the steps and the packages for a change of files. Only these parts of them differ."""
    with mock.patch.object(changed, "differs", lambda _path, _shared, part: part in differing):
        whole, sampled = changed.affected(paths, "HEAD")
        return set(changed.needed(paths, "HEAD", whole | sampled)), whole, sampled


class Packages(unittest.TestCase):
    def test_a_package_and_all_that_are_built_from_it_are_tested(self):
        for name, folder in changed.packages().items():
            _, whole, _ = choice(f"{folder}/src/new.rs")
            self.assertIn(name, whole)
            for other, manifest in changed.manifests().items():
                if any(use["name"] == name and use["kind"] is None and not use["optional"]
                       for use in manifest["dependencies"]):
                    self.assertIn(other, whole, f"it depends on {name}")

    def test_a_change_of_a_leaf_leaves_the_others_alone(self):
        _, whole, sampled = choice("crates/mcp-aql-aggregator/src/answer.rs")
        self.assertNotIn("mcp-aql-core", whole | sampled)
        self.assertNotIn("mcp-aql", whole | sampled)

    def test_libraries_below_a_change_run_the_samples_of_their_documentation(self):
        _, whole, sampled = choice("crates/mcp-aql-cli/src/lib.rs")
        self.assertIn("mcp-aql-core", sampled)
        self.assertNotIn("mcp-aql-core", whole)

    def test_a_file_that_another_package_includes_affects_both(self):
        for path, package in [
            ("examples/tasks/error.rs", "mcp-aql-bench"),
            ("crates/mcp-aql-server/src/http/auth/jwt/rsa_test_key.txt", "mcp-aql-bench"),
            ("scripts/postgres.sh", "mcp-aql-tests-databases"),
        ]:
            self.assertIn(path, changed.files())
            self.assertIn(package, choice(path)[1], path)

    def test_a_package_is_tested_after_a_change_of_each_file_that_it_compiles(self):
        for name, package in changed.manifests().items():
            for target in package["targets"]:
                source = changed.Path(target["src_path"])
                for path in (source, source.with_name("new.rs")):
                    path = path.relative_to(changed.ROOT).as_posix()
                    self.assertIn(name, choice(path)[1], path)

    def test_tests_run_after_a_change_of_what_they_depend_on(self):
        _, whole, _ = choice("tests/upstreams/src/lib.rs")
        self.assertIn("mcp-aql-aggregator", whole)
        _, whole, _ = choice("crates/mcp-aql-server/src/stdio/mod.rs")
        self.assertIn("mcp-aql-telemetry", whole)

    def test_the_manifest_of_the_workspace_affects_every_package(self):
        for path in changed.EVERYTHING:
            self.assertEqual(choice(path)[1], set(changed.packages()), path)


class Steps(unittest.TestCase):
    def test_every_step_has_a_rule_and_every_rule_a_step(self):
        run = (changed.ROOT / changed.RUN).read_text()
        lists = re.findall(r"^(?:quick|lane|beside|outer|outer_beside|after)=\(([^$)]+)\)", run, re.MULTILINE)
        listed = {step for words in lists for step in words.split()}
        # Needs a database that is only fetched on request.
        listed.remove("advisories")
        self.assertEqual(listed, set(changed.STEPS))
        self.assertLessEqual(listed, set(changed.step_scripts()))

    def test_code_is_checked_and_tested(self):
        for folder in changed.packages().values():
            steps, _, _ = choice(f"{folder}/src/new.rs")
            apart = {"crates/mcp-aql-sqlx": "sqlx", "examples/team": "sqlx", "fuzz": "fuzz",
                     "bench/aggregator": "benchmark"}.get(folder)
            if apart:
                self.assertEqual(steps - ALWAYS, {"dependencies", apart})
            else:
                self.assertIn("lints", steps)
                self.assertTrue(steps & {"tests", "suites"}, folder)

    def test_a_script_runs_in_each_step_that_uses_it(self):
        for path in changed.files():
            if path.startswith("scripts/"):
                self.assertTrue(choice(path)[0] - ALWAYS or path in ELSEWHERE, path)
        for path, step in [("scripts/outputs.py", "outputs"), ("scripts/links.py", "book"),
                           ("scripts/conforms.py", "conforms"), ("scripts/console.mjs", "console"),
                           ("scripts/postgres.sh", "suites"), ("scripts/postgres.sh", "sqlx"),
                           ("scripts/client.mjs", "clients"), ("scripts/client.py", "servers"), ("scripts/peers.py", "dependencies")]:
            self.assertIn(step, choice(path)[0], path)

    def test_an_edited_function_runs_in_each_step_that_calls_it(self):
        run = (changed.ROOT / changed.RUN).read_text()
        for function, edited, others in [("mutants", {"mutants"}, {"tests"}), ("lints", {"lints"}, {"tests"}),
                                         ("tool", {"spelling", "dependencies", "book", "fuzz"}, {"tests"}),
                                         ("packages_of", {"tests", "soak"}, {"book", "lints"}),
                                         ("programs", {"conforms", "soak", "clients"}, {"tests", "book"}),
                                         ("runtime_tests", {"features"}, {"tests", "suites"})]:
            before = run.replace(f"\n{function}() {{", f"\n{function}() {{ # differs\n  :")
            with mock.patch.object(changed, "differs", lambda _path, _shared, part: part(before) != part(run)):
                steps = set(changed.needed([changed.RUN], "HEAD", set()))
            self.assertLessEqual(edited, steps)
            self.assertFalse(others & steps, function)

    def test_lines_around_the_functions_select_every_package(self):
        run = (changed.ROOT / changed.RUN).read_text()
        before = run.replace("set -euo pipefail", "set -eu")
        with mock.patch.object(changed, "differs", lambda _path, _shared, part: part(before) != part(run)):
            self.assertEqual(changed.affected([changed.RUN], "HEAD"), (set(changed.packages()), set()))

    def test_paths_pull_in_the_outer_checks(self):
        for path, step in [
            ("crates/mcp-aql-server/src/http/mod.rs", "clients"),
            ("crates/mcp-aql-server/src/http/mod.rs", "conformance"),
            ("crates/mcp-aql-safety/src/console/mod.rs", "console"),
            ("crates/mcp-aql-aggregator/src/upstream/mod.rs", "servers"),
            ("crates/mcp-aql-metrics/src/lib.rs", "metrics"),
            ("examples/deployment/nginx-sessions.conf", "deployment"),
            ("crates/mcp-aql-server/src/http/stop_delay.rs", "deployment"),
            ("examples/other-languages/python/adapter.py", "languages"),
            ("fuzz/fuzz_targets/request.rs", "fuzz"),
            ("soak/src/main.rs", "soak"),
            ("tests/features/ui/new.rs", "features"),
            ("examples/tasks/main.rs", "outputs"),
            ("crates/mcp-aql-conformance/dist/github/run.sh", "packages"),
            ("book/src/dashboards/grafana.json", "metrics"),
        ]:
            self.assertIn(step, choice(path)[0], path)

    def test_the_middle_of_the_runtime_needs_no_outer_check(self):
        steps, _, _ = choice("crates/mcp-aql-core/src/schema/shape/mod.rs")
        self.assertEqual(steps - ALWAYS, {"dependencies", "lints", "tests", "suites", "documentation", "features", "sqlx",
                                          "outputs", "conforms"})

    def test_every_file_is_checked_by_something(self):
        for path in changed.files():
            if path not in PROSE:
                differing = (changed.samples, changed.outputs) if changed.is_page(path) else ()
                self.assertTrue(choice(path, differing=differing)[0] - ALWAYS or path in ELSEWHERE, path)


class Book(unittest.TestCase):
    def test_prose_needs_the_book_alone(self):
        steps, whole, sampled = choice("book/src/naming.md")
        self.assertEqual((steps, whole, sampled), (ALWAYS | {"book"}, set(), set()))

    def test_a_sample_needs_the_documentation_tests_and_an_output_its_commands(self):
        steps, whole, _ = choice("book/src/gates.md", differing=[changed.samples])
        self.assertEqual(whole, {changed.BOOK})
        self.assertIn("tests", steps)
        self.assertIn("outputs", choice("README.md", differing=[changed.outputs])[0])

    def test_a_chapter_that_a_test_reads_affects_the_test(self):
        self.assertIn("mcp-aql-conformance", choice("book/src/conformance-checks.md")[1])

    def test_samples_and_outputs_are_found(self):
        page = "Text.\n\n```rust,no_run\nlet a = 1;\n```\n\n```console\n$ ls\n```\n\n```\nlet b = 2;\n```\n"
        self.assertEqual(len(changed.samples(page)), 2)
        self.assertEqual(changed.samples(page), changed.samples(page.replace("Text", "Other text")))
        self.assertNotEqual(changed.samples(page), changed.samples(page.replace("= 1", "= 3")))
        page = "<!-- output: tasks -->\n```console\n$ tasks\n```\n<!-- /output -->\n"
        self.assertNotEqual(changed.outputs(page), changed.outputs(page.replace("$ tasks", "$ tasks --help")))


if __name__ == "__main__":
    unittest.main()
