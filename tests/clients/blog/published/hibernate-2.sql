-- What Hibernate 6 does to the same tables with hibernate.hbm2ddl.auto=update: the entity Like, and
-- the attributes subtitle and editor of Post.

create table likes (id bigserial not null, post_id bigint not null, user_id bigint not null, primary key (id));
alter table if exists posts add column editor_id bigint;
alter table if exists posts add column subtitle varchar(255);
alter table if exists likes add constraint FKry8tnr4x2vwemv2bb0h5hyl0x foreign key (post_id) references posts;
alter table if exists likes add constraint FKnvx9seeqqyy71bij291pwiwrg foreign key (user_id) references users;
alter table if exists posts add constraint FKmyg1fqxpxnqsfclqsm66wv2rq foreign key (editor_id) references users;
