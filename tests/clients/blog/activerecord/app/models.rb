class User < ActiveRecord::Base
  has_many :posts, foreign_key: :author_id
end

class Post < ActiveRecord::Base
  belongs_to :author, class_name: "User"
  belongs_to :editor, class_name: "User", optional: true
  has_many :comments
  has_and_belongs_to_many :tags
end

class Comment < ActiveRecord::Base
  belongs_to :post
  belongs_to :author, class_name: "User"
end

class Tag < ActiveRecord::Base
  has_and_belongs_to_many :posts
end
