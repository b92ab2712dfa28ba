// Converts the lines of its input: convert.mjs to|from PREFIX. The file "keys" has the keys.
import { readFileSync } from 'node:fs';
import { fromPublic, toPublic } from './public_ids.mjs';

const lines = (file) => readFileSync(file, 'utf8').split('\n').slice(0, -1);
const keys = lines('keys').map((key) => Buffer.from(key, 'hex'));
const [direction, prefix] = process.argv.slice(2);
for (const line of lines(0)) {
  const id = direction === 'to' ? toPublic(keys[0], BigInt(line), prefix) : fromPublic(keys, line, prefix);
  console.log(String(id ?? "nobody's"));
}
