require_relative "config/environment"

def show(record)
  puts "#{record.class.table_name} #{record.id}"
  record
end

if ARGV[0] == "write"
  ann, bob = ["Ann", "Bob"].map { |name| show User.create!(name: name) }
  post = show ann.posts.create!(title: "Tea")
  # Many rows with one statement.
  tags = ["drinks", "kitchen", "garden"].map { |name| { name: name } }
  ids = Tag.insert_all!(tags, returning: :id).rows.flatten
  ids.each { |id| puts "tags #{id}" }
  post.tags << Tag.find(ids.first(2))
  post = Post.includes(:author, :tags).find(post.id)
  puts "#{post.title} by #{post.author.name}: #{post.tags.map(&:name).sort.join(", ")}"
else
  bob = User.find_by!(name: "Bob")
  post = Post.joins(:author).find_by!(author: { name: "Ann" })
  comment = show post.comments.create!(author: bob, body: "How long?")
  Post.find(post.id).update!(editor: bob)
  comment = Comment.includes(post: :editor).find(comment.id)
  puts "#{comment.post.title}, edited by #{comment.post.editor.name}: #{comment.body}"
end
