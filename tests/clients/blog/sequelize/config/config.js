const { PGHOST: host, PGUSER: username, PGDATABASE: database } = process.env;
const define = { underscored: true, timestamps: false };

module.exports = { development: { dialect: 'postgres', host, username, database, logging: false, define } };
