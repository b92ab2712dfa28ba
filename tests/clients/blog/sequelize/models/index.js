const { DataTypes, Sequelize } = require('sequelize');
const config = require('../config/config.js');

const sequelize = new Sequelize(config.development);
const define = (name, columns) => sequelize.define(name, {
  id: { type: DataTypes.BIGINT, autoIncrement: true, primaryKey: true }, ...columns,
});

const name = { type: DataTypes.STRING, allowNull: false, unique: true };
const User = define('user', { name: { ...name } });
const Post = define('post', { title: DataTypes.STRING });
const Tag = define('tag', { name: { ...name } });
User.hasMany(Post, { as: 'posts', foreignKey: { name: 'authorId', allowNull: false } });
Post.belongsTo(User, { as: 'author' });
Post.belongsTo(User, { as: 'editor' }); // second
Post.belongsToMany(Tag, { through: 'posts_tags' });
Tag.belongsToMany(Post, { through: 'posts_tags' });

module.exports = { Sequelize, sequelize, User, Post, Tag };

// second
const Comment = define('comment', { body: DataTypes.TEXT });
Comment.belongsTo(Post);
Comment.belongsTo(User, { as: 'author' });
module.exports.Comment = Comment;
