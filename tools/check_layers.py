#!/usr/bin/env python3
"""Does every #include in src/ follow tools/layers.txt? Without arguments it checks; --self-test checks the check."""
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def read_rules(path):
    """{folder: folders it may include}, itself always among them."""
    rules = {}
    for line in path.read_text().splitlines():
        line = line.split("#", 1)[0].strip()
        if line:
            folder, _, allowed = line.partition(":")
            rules[folder.strip()] = {folder.strip(), *allowed.split()}
    return rules


def violations(source, rules):
    """One sentence for each include that breaks a rule, or that is not written from src/ on."""
    found = []
    for path in sorted([*source.rglob("*.h"), *source.rglob("*.cc")]):
        folder = path.relative_to(source).parts[0]
        if folder not in rules:
            found.append(f"{path}: the folder {folder} is not in tools/layers.txt")
            continue
        for included in INCLUDE.findall(path.read_text(errors="replace")):
            target = included.split("/", 1)[0]
            if "/" not in included or target not in rules:
                found.append(f'{path}: "{included}" does not start with a folder of src/')
            elif target not in rules[folder]:
                found.append(f'{path}: {folder} may not include {target} ("{included}")')
    return found


def cycles(rules):
    """Folders that reach themselves through others."""
    def reach(folder, seen):
        for other in rules.get(folder, set()) - {folder}:
            if other not in seen:
                seen.add(other)
                reach(other, seen)
        return seen
    return [f"tools/layers.txt: {folder} may include itself through others" for folder in rules
            if folder in reach(folder, set())]


def self_test():
    with tempfile.TemporaryDirectory() as name:
        source = pathlib.Path(name)
        rules = {"base": {"base"}, "store": {"store", "base"}}
        (source / "base").mkdir()
        (source / "store").mkdir()
        (source / "store/good.cc").write_text('#include <vector>\n#include "base/text.h"\n#include "store/run.h"\n')
        assert violations(source, rules) == [], "a right include is refused"
        (source / "base/bad.h").write_text('  # include "store/run.h"\n')
        assert len(violations(source, rules)) == 1, "an include upward is not caught"
        (source / "base/bad.h").write_text('#include "text.h"\n')
        assert len(violations(source, rules)) == 1, "an include without its folder is not caught"
        (source / "new").mkdir()
        (source / "new/x.cc").write_text("")
        assert len(violations(source, rules)) == 2, "a folder without a rule is not caught"
        assert cycles({"a": {"a", "b"}, "b": {"b", "a"}}), "a cycle is not caught"
    print("ok: wrong includes are caught")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    root = pathlib.Path(__file__).resolve().parent.parent
    rules = read_rules(root / "tools/layers.txt")
    found = cycles(rules) + violations(root / "src", rules)
    print("\n".join(found) or f"ok: {len(rules)} layers")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
