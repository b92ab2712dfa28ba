class ApplicationRecord < ActiveRecord::Base
  primary_abstract_class
end

class User < ApplicationRecord
  has_many :posts, foreign_key: :author_id
  has_many :comments, foreign_key: :author_id
  has_many :likes
end

class Post < ApplicationRecord
  belongs_to :author, class_name: "User"
  belongs_to :editor, class_name: "User", optional: true
  has_many :comments
  has_many :likes
  has_and_belongs_to_many :tags
end

class Comment < ApplicationRecord
  belongs_to :post
  belongs_to :author, class_name: "User"
end

class Tag < ApplicationRecord
  has_and_belongs_to_many :posts
end

class Like < ApplicationRecord
  belongs_to :post
  belongs_to :user
end
