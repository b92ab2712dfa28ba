module.exports = {
  async up(queryInterface, Sequelize) {
    const id = {
      allowNull: false, autoIncrement: true, primaryKey: true, type: Sequelize.BIGINT,
    };
    const reference = (model, rest) => ({
      type: Sequelize.BIGINT, references: { model, key: 'id' }, ...rest,
    });
    await queryInterface.createTable('users', {
      id,
      name: { type: Sequelize.STRING, allowNull: false },
    });
    await queryInterface.createTable('posts', {
      id,
      title: { type: Sequelize.STRING, allowNull: false },
      author_id: reference('users', { allowNull: false }),
    });
    await queryInterface.createTable('comments', {
      id,
      body: { type: Sequelize.TEXT, allowNull: false },
      post_id: reference('posts', { allowNull: false, onDelete: 'CASCADE' }),
      author_id: reference('users'),
    });
    await queryInterface.createTable('tags', {
      id,
      name: { type: Sequelize.STRING, allowNull: false, unique: true },
    });
    await queryInterface.createTable('posts_tags', {
      post_id: reference('posts', { primaryKey: true }),
      tag_id: reference('tags', { primaryKey: true }),
    });
  },
};
