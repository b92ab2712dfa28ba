-- The next migration of Prisma Migrate: the model Like, and the fields subtitle, editor and editorId
-- of Post.

ALTER TABLE "posts" ADD COLUMN     "editor_id" BIGINT,
ADD COLUMN     "subtitle" TEXT;
CREATE TABLE "likes" (
    "id" BIGSERIAL NOT NULL,
    "post_id" BIGINT NOT NULL,
    "user_id" BIGINT NOT NULL,
    CONSTRAINT "likes_pkey" PRIMARY KEY ("id")
);
ALTER TABLE "posts" ADD CONSTRAINT "posts_editor_id_fkey" FOREIGN KEY ("editor_id") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;
ALTER TABLE "likes" ADD CONSTRAINT "likes_post_id_fkey" FOREIGN KEY ("post_id") REFERENCES "posts"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "likes" ADD CONSTRAINT "likes_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
