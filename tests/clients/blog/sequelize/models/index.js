'use strict';

const { DataTypes, Sequelize } = require('sequelize');
const config = require('../config/config.js');

const sequelize = new Sequelize(config.development);

const id = { type: DataTypes.BIGINT, autoIncrement: true, primaryKey: true };
const User = sequelize.define('user', {
  id: { ...id },
  name: { type: DataTypes.STRING, allowNull: false },
});
const Post = sequelize.define('post', {
  id: { ...id },
  title: { type: DataTypes.STRING, allowNull: false },
  subtitle: DataTypes.STRING, // second
});
const Comment = sequelize.define('comment', {
  id: { ...id },
  body: { type: DataTypes.TEXT, allowNull: false },
});
const Tag = sequelize.define('tag', {
  id: { ...id },
  name: { type: DataTypes.STRING, allowNull: false, unique: true },
});

User.hasMany(Post, { as: 'posts', foreignKey: { name: 'authorId', allowNull: false } });
Post.belongsTo(User, { as: 'author' });
Post.belongsTo(User, { as: 'editor' }); // second
Post.hasMany(Comment, { onDelete: 'CASCADE', foreignKey: { allowNull: false } });
Comment.belongsTo(Post);
Comment.belongsTo(User, { as: 'author' });
Post.belongsToMany(Tag, { through: 'posts_tags' });
Tag.belongsToMany(Post, { through: 'posts_tags' });

module.exports = { Sequelize, sequelize, User, Post, Comment, Tag };

// second
const Like = sequelize.define('like', { id: { ...id } });
Like.belongsTo(Post, { foreignKey: { allowNull: false } });
Like.belongsTo(User, { foreignKey: { allowNull: false } });
module.exports.Like = Like;
