ActiveSupport.on_load(:active_record_postgresqladapter) do
  prepend(Module.new do
    # These schemas and their tables come with the extensions.
    def schema_names
      super - ["snowflake_internal", "snowflake_adopt_internal"]
    end

    # A default that contains "nextval" is taken for that of a sequence, which has no name here.
    def pk_and_sequence_for(table)
      key, sequence = super
      [key, (sequence if sequence&.identifier.present?)]
    end
  end)

  # A database that schema.rb is loaded into is adopted, too, after its tables are there.
  ActiveRecord::ConnectionAdapters::PostgreSQL::SchemaDumper.prepend(Module.new do
    private

    def trailer(stream)
      if @connection.extension_enabled?("snowflake_adopt")
        adopted = "SELECT schema, keys FROM snowflake_adopted ORDER BY schema"
        @connection.select_rows(adopted).each do |row|
          adopt = row.map { |text| @connection.quote(text) }.join(", ")
          stream.puts "  execute #{"SELECT snowflake_adopt(#{adopt})".inspect}"
        end
      end
      super
    end
  end)
end
