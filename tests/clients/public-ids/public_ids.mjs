import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const check = (prefix) =>
  createHash('sha256').update(`snowflake public ID of ${prefix}`).digest().subarray(0, 8);
const lead = (prefix) => (prefix ? `${prefix}_` : '');

export function toPublic(key, id, prefix = '') {
  const block = Buffer.concat([Buffer.alloc(8), check(prefix)]);
  block.writeBigInt64BE(id);
  let number = BigInt(`0x${createCipheriv('aes-128-ecb', key, null).update(block, null, 'hex')}`);
  let digits = '';
  for (; digits.length < 22; number /= 62n) digits = DIGITS[Number(number % 62n)] + digits;
  return lead(prefix) + digits;
}

export function fromPublic(keys, name, prefix = '') {
  const digits = name.slice(-22);
  if (name !== lead(prefix) + digits || !/^[0-9A-Za-z]{22}$/.test(digits)) return null;
  const number = [...digits].reduce((sum, digit) => sum * 62n + BigInt(DIGITS.indexOf(digit)), 0n);
  if (number >= 2n ** 128n) return null;
  const bytes = Buffer.from(number.toString(16).padStart(32, '0'), 'hex');
  for (const key of keys) {
    const block = createDecipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(bytes);
    if (block.subarray(8).equals(check(prefix))) return block.readBigInt64BE();
  }
  return null;
}
