// Prints the cups of an order as a reader gives them, then the order, then what else it gives:
// node read.js READER [exact]
import pg from 'pg';

const [reader, exact] = process.argv.slice(2);
if (exact) await import('./ids.js');
const { read } = await import(`./${reader}.js`);
const { id, cups, more = [] } = await read(new pg.Pool());
// A number is printed with all its digits, as a database would get it.
const show = (value) => (typeof value === 'number' ? BigInt(value) : value).toString();
for (const cup of cups) console.log(show(cup.id), show(cup.order_id));
console.log(typeof id, show(id), ...more.map(show));
process.exit();
