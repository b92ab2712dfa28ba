CREATE TABLE users (
  id BIGSERIAL PRIMARY KEY,
  name VARCHAR NOT NULL
);

CREATE TABLE posts (
  id BIGSERIAL PRIMARY KEY,
  author_id BIGINT NOT NULL REFERENCES users (id),
  title VARCHAR NOT NULL
);

CREATE TABLE tags (
  id BIGSERIAL PRIMARY KEY,
  name VARCHAR NOT NULL
);

CREATE TABLE posts_tags (
  post_id BIGINT REFERENCES posts (id),
  tag_id BIGINT REFERENCES tags (id),
  PRIMARY KEY (post_id, tag_id)
);
