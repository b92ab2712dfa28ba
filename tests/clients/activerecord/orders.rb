require "active_record"

# The connection is that of the environment: PGHOST and others, or what is set here.
ActiveRecord::Base.establish_connection(adapter: "postgresql")

class CreateOrders < ActiveRecord::Migration[7.2]
  def change
    enable_extension "snowflake"
    create_table :orders, id: :bigint, default: -> { "snowflake_nextval()" } do |t|
      t.text :item, null: false
    end
  end
end
ActiveRecord::Migration.verbose = false
CreateOrders.migrate(:up)

class Order < ActiveRecord::Base
end

order = Order.create!(item: "tea")
puts "#{order.item} #{order.id}"

# Many rows with one statement.
items = ["milk", "sugar"].map { |item| { item: item } }
Order.insert_all!(items, returning: [:item, :id]).rows.each { |row| puts row.join(" ") }
