from django.db import models
from rest_framework import serializers

from .models import Cup


class SnowflakeSerializer(serializers.ModelSerializer):
    """Keys and references are strings in JSON."""

    serializer_field_mapping = serializers.ModelSerializer.serializer_field_mapping | {
        models.AutoField: serializers.CharField,
        models.BigAutoField: serializers.CharField,
    }

    def build_relational_field(self, field_name, relation_info):
        field, options = super().build_relational_field(field_name, relation_info)
        return field, options | {"pk_field": serializers.CharField()}


class CupSerializer(SnowflakeSerializer):
    class Meta:
        model = Cup
        fields = ["id", "order"]
