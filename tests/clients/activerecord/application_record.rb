class ApplicationRecord < ActiveRecord::Base
  primary_abstract_class

  # Keys and references are strings in JSON.
  def serializable_hash(options = nil)
    super.to_h { |name, value| [name, name.match?(/(\A|_)id\z/) ? value&.to_s : value] }
  end
end
