post, user = Post.last, User.last
puts "likes #{post.likes.create!(user: user).id}"
post.update!(subtitle: "A start", editor: user)
post = Post.joins(:editor).find(post.id)
puts "#{post.title}: #{post.subtitle}, edited by #{post.editor.name}"
