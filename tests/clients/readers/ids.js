import pg from 'pg';

// In JSON from the server, numbers of 16 and more digits become strings.
const number = /"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g;
const quote = (part) => (part[0] === '"' ? part : `"${part}"`);
const parse = (text) => JSON.parse(text.replace(number, quote));
pg.types.setTypeParser(pg.types.builtins.JSON, parse);
pg.types.setTypeParser(pg.types.builtins.JSONB, parse);
