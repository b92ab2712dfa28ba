-- What Hibernate 6 exports for entities whose key is
--
--     @Id @GeneratedValue Long id
--
-- which means GenerationType.SEQUENCE on PostgreSQL: Hibernate takes every 50th value of a sequence of
-- each entity, and counts on from there by itself. The keys have no default.

create sequence posts_seq start with 1 increment by 50;
create sequence users_seq start with 1 increment by 50;
create table posts (author_id bigint, id bigint not null, title varchar(255), primary key (id));
create table users (id bigint not null, name varchar(255), primary key (id));
alter table if exists posts add constraint FK6xvn0811tkyo3nfjk2xvqx6ns foreign key (author_id) references users;
