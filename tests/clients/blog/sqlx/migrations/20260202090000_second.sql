CREATE TABLE comments (
    id BIGSERIAL PRIMARY KEY,
    post_id BIGINT NOT NULL REFERENCES posts (id),
    author_id BIGINT NOT NULL REFERENCES users (id),
    body TEXT NOT NULL
);

ALTER TABLE posts ADD COLUMN editor_id BIGINT REFERENCES users (id);
