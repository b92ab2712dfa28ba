import hashlib
import re
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

def aes(key):
    return Cipher(algorithms.AES(key), modes.ECB())

def check(prefix):
    return hashlib.sha256(b"snowflake public ID of " + prefix.encode()).digest()[:8]

def to_public(key, id, prefix=""):
    block = aes(key).encryptor().update(id.to_bytes(8, "big", signed=True) + check(prefix))
    number = int.from_bytes(block, "big")
    digits = "".join(DIGITS[number // 62**place % 62] for place in reversed(range(22)))
    return f"{prefix}_{digits}" if prefix else digits

def from_public(keys, name, prefix=""):
    lead = f"{prefix}_" if prefix else ""
    if not re.fullmatch(lead + "[0-9A-Za-z]{22}", name):
        return None
    number = sum(DIGITS.index(digit) * 62**place for place, digit in enumerate(reversed(name[-22:])))
    for key in keys if number < 2**128 else []:
        block = aes(key).decryptor().update(number.to_bytes(16, "big"))
        if block[8:] == check(prefix):
            return int.from_bytes(block[:8], "big", signed=True)
