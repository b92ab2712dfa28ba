class CreateBlog < ActiveRecord::Migration[7.2]
  def change
    create_table :users do |t|
      t.string :name
    end

    create_table :posts do |t|
      t.references :author, null: false, foreign_key: { to_table: :users }
      t.string :title
    end

    create_table :tags do |t|
      t.string :name
    end

    create_join_table :posts, :tags do |t|
      t.index :post_id
    end
  end
end
