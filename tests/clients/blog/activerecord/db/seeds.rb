def show(record)
  puts "#{record.class.table_name} #{record.id}"
  record
end

ann = show User.create!(name: "Ann")
bob = show User.create!(name: "Bob")
post = show ann.posts.create!(title: "Tea", body: "Let it draw.")
show post.comments.create!(author: bob, body: "How long?")

# Many rows with one statement.
tags = Tag.insert_all!([{ name: "drinks" }, { name: "kitchen" }], returning: :id)
tags.rows.flatten.each { |id| puts "tags #{id}" }
post.tags << Tag.find(tags.rows.flatten)

post = Post.includes(:tags, comments: :author).find(post.id)
post.tags.sort_by(&:id).each { |tag| puts "#{post.title}: #{tag.name}" }
post.comments.each { |comment| puts "#{post.title}: #{comment.body} (#{comment.author.name})" }
