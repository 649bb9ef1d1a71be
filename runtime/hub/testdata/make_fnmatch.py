"""Writes fnmatch.json beside it: [pattern, name, does Python's fnmatch.fnmatchcase match them]."""
import fnmatch, json, os, random

random.seed(7)
fixed = [("*", ""), ("*.json", "a/b.json"), ("a?c", "a/c"), ("[!a]*", "b"), ("[]a]", "]"), ("[!]]", "]"), ("[", "["),
         ("[a", "[a"), ("[a-c]x", "bx"), ("a.b", "axb"), ("[^a]", "^"), ("[\\]", "\\"), ("ä*", "äb"), ("?", "ä"),
         ("a\n*", "a\nb"), ("[!a-]", "-"), ("[&&]", "&"), ("{a,b}", "a"), ("(a|b)+", "a"), ("", "")]
cases = [(p, n) for p, n in fixed if p]
for _ in range(250):
    p = "".join(random.choice("ab./*?[]!-") for _ in range(random.randint(1, 6)))
    n = "".join(random.choice("ab./]![-") for _ in range(random.randint(0, 5)))
    cases.append((p, n))
out = [[p, n, fnmatch.fnmatchcase(n, p)] for p, n in cases if not p.endswith("/")]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "fnmatch.json"), "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in out) + "\n]\n")
