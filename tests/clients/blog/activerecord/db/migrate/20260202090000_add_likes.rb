class AddLikes < ActiveRecord::Migration[7.2]
  def change
    create_table :likes do |t|
      t.references :post, null: false, foreign_key: true
      t.references :user, null: false, foreign_key: true
      t.timestamps
    end

    add_column :posts, :subtitle, :string
    add_reference :posts, :editor, foreign_key: { to_table: :users }
  end
end
