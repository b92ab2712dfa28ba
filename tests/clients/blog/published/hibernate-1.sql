-- What Hibernate 6 exports, with jakarta.persistence.schema-generation.scripts.action or
-- hibernate.hbm2ddl.auto, for entities whose key is
--
--     @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id
--
-- as in the chapters on identifiers and on schema generation of its user guide. Posts have a
-- @ManyToMany Set of tags. The type of the keys is that of PostgreSQLIdentityColumnSupport.

create table comments (author_id bigint, id bigserial not null, post_id bigint not null, body varchar(255) not null, primary key (id));
create table posts (author_id bigint not null, id bigserial not null, title varchar(255) not null, primary key (id));
create table posts_tags (post_id bigint not null, tags_id bigint not null, primary key (post_id, tags_id));
create table tags (id bigserial not null, name varchar(255) not null unique, primary key (id));
create table users (id bigserial not null, name varchar(255) not null, primary key (id));
alter table if exists comments add constraint FKn2na60ukhs76ibtpt9burkm27 foreign key (author_id) references users;
alter table if exists comments add constraint FKh4c7lvsc298whoyd4w9ta25cr foreign key (post_id) references posts;
alter table if exists posts add constraint FK6xvn0811tkyo3nfjk2xvqx6ns foreign key (author_id) references users;
alter table if exists posts_tags add constraint FK79lx4quime8ct09nbmmf6wuao foreign key (tags_id) references tags;
alter table if exists posts_tags add constraint FKcreclgob71ibo58gsm6l5wp6 foreign key (post_id) references posts;
