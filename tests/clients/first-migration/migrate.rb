require "active_record"

ActiveRecord::Base.establish_connection(adapter: "postgresql")

class CreateOrders < ActiveRecord::Migration[7.2]
  def up
    execute File.read("snowflake.sql")
    create_table :orders, id: :bigint, default: -> { "snowflake_nextval()" } do |t|
      t.text :item
    end
  end
end
ActiveRecord::Migration.verbose = false
# As `db:migrate` does it: in a transaction.
ActiveRecord::Base.transaction { CreateOrders.migrate(:up) }

class Order < ActiveRecord::Base
end

["tea", "milk", "sugar"].each do |item|
  order = Order.create!(item: item)
  puts "#{order.item} #{order.id}"
end
