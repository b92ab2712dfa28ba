module.exports = {
  async up(queryInterface, { BIGINT, STRING }) {
    const id = { allowNull: false, autoIncrement: true, primaryKey: true, type: BIGINT };
    const name = { type: STRING, allowNull: false, unique: true };
    const reference = (model, rest) => ({ type: BIGINT, references: { model, key: 'id' }, ...rest });
    await queryInterface.createTable('users', { id, name });
    await queryInterface.createTable('posts', {
      id, title: { type: STRING }, author_id: reference('users', { allowNull: false }),
    });
    await queryInterface.createTable('tags', { id, name });
    await queryInterface.createTable('posts_tags', {
      post_id: reference('posts', { primaryKey: true }),
      tag_id: reference('tags', { primaryKey: true }),
    });
  },
};
