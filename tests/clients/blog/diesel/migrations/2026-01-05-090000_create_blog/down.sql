DROP TABLE posts_tags;
DROP TABLE tags;
DROP TABLE comments;
DROP TABLE posts;
DROP TABLE users;
