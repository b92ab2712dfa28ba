const { PGHOST: host, PGPORT: port, PGUSER: username, PGDATABASE: database } = process.env;

module.exports = {
  development: {
    dialect: 'postgres', host, port, username, database, logging: false,
    define: { underscored: true, timestamps: false },
  },
};
