require "active_record"
require "active_record/fixtures"

# The part of the start of Rails that is of Active Record.
root = File.expand_path("..", __dir__)
ENV.delete("DATABASE_URL")
ENV["RAILS_ENV"] ||= "development"
tasks = ActiveRecord::Tasks::DatabaseTasks
tasks.root = root
tasks.env = ENV["RAILS_ENV"]
tasks.db_dir = "#{root}/db"
tasks.migrations_paths = ["#{root}/db/migrate"]
tasks.database_configuration = YAML.load_file("#{root}/config/database.yml")
Dir["#{root}/config/initializers/*.rb"].each { |file| require file }
ActiveRecord::Base.configurations = tasks.database_configuration
ActiveRecord::Migrator.migrations_paths = tasks.migrations_paths
ActiveRecord::Base.establish_connection
require_relative "../app/models"
