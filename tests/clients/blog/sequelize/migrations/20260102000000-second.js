module.exports = {
  async up(queryInterface, { BIGINT, TEXT }) {
    const reference = (model) => ({ type: BIGINT, references: { model, key: 'id' } });
    await queryInterface.createTable('comments', {
      id: { allowNull: false, autoIncrement: true, primaryKey: true, type: BIGINT },
      body: { type: TEXT },
      post_id: reference('posts'),
      author_id: reference('users'),
    });
    await queryInterface.addColumn('posts', 'editor_id', reference('users'));
  },
};
