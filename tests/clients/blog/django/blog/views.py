from django.http import JsonResponse
from django.shortcuts import get_object_or_404

from .models import Post


def post(request, pk):
    post = get_object_or_404(Post, pk=pk)
    return JsonResponse({"id": post.id, "title": post.title, "reader": request.user.get_username()})
