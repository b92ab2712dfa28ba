module.exports = {
  async up(queryInterface, Sequelize) {
    const reference = (model, rest) => ({
      type: Sequelize.BIGINT, references: { model, key: 'id' }, ...rest,
    });
    await queryInterface.createTable('likes', {
      id: { allowNull: false, autoIncrement: true, primaryKey: true, type: Sequelize.BIGINT },
      post_id: reference('posts', { allowNull: false }),
      user_id: reference('users', { allowNull: false }),
    });
    await queryInterface.addColumn('posts', 'subtitle', Sequelize.STRING);
    await queryInterface.addColumn('posts', 'editor_id', reference('users'));
  },
};
