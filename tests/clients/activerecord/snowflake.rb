ActiveSupport.on_load(:active_record_postgresqladapter) do
  prepend(Module.new do
    # This schema and its tables come with the extension.
    def schema_names
      super - ["snowflake_internal"]
    end

    # A default that contains "nextval" is taken for that of a sequence, which has no name here.
    def pk_and_sequence_for(table)
      key, sequence = super
      [key, (sequence if sequence&.identifier.present?)]
    end
  end)
end
