from django.contrib import admin

from . import models


@admin.register(models.Post)
class PostAdmin(admin.ModelAdmin):
    list_display = ["title", "author"]
    exclude = ["editor"]  # second
    inlines = [type("CommentInline", (admin.TabularInline,), {"model": models.Comment})]  # second
