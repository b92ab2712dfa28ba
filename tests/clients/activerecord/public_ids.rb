require "active_record"
require "json"

# The connection is that of the environment: PGHOST and others, or what is set here.
ActiveRecord::Base.establish_connection(adapter: "postgresql")

class Order < ActiveRecord::Base
  # One query for many orders, with the name of each.
  scope :with_public_id, -> { select("orders.*, snowflake_to_public(orders.id, 'ord') AS public_id") }

  def self.find_by_public_id!(name)
    with_public_id.find_by!("orders.id = snowflake_from_public(?, 'ord')", name)
  end

  def as_json(*)
    { id: public_id, item: item }
  end
end

["tea", "milk"].each { |item| Order.create!(item: item) }
puts Order.with_public_id.order(:id).map(&:as_json).to_json
puts "found #{Order.find_by_public_id!(Order.with_public_id.order(:id).first.public_id).item}"
begin
  Order.find_by_public_id!("ord_0123456789ABCDEFGHIJKL")
rescue ActiveRecord::RecordNotFound
  puts "a forged name: not found"
end
