"""Converts the lines of its input: convert.py to|from PREFIX. The file "keys" has the keys."""
import sys
from public_ids import from_public, to_public

keys = [bytes.fromhex(line) for line in open("keys")]
_, direction, prefix = sys.argv
for line in sys.stdin.read().split("\n")[:-1]:
    converted = to_public(keys[0], int(line), prefix) if direction == "to" else from_public(keys, line, prefix)
    print("nobody's" if converted is None else converted)
