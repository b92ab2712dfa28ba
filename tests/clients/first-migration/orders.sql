CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT snowflake_nextval(), item text)
