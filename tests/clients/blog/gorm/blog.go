// A blog whose tables AutoMigrate creates. The keys are declared as GORM's documentation declares them.
package main

import (
	"fmt"
	"log"
	"os"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

type User struct {
	ID   uint
	Name string
}

type Tag struct {
	ID   uint
	Name string
}

type Post struct {
	ID       uint
	Title    string
	Subtitle string
	AuthorID uint
	Author   User
	EditorID *uint
	Editor   *User
	Tags     []Tag `gorm:"many2many:posts_tags"`
	Comments []Comment
}

type Comment struct {
	ID     uint
	PostID uint
	Body   string
}

type Like struct {
	ID     uint
	PostID uint
	Post   Post
	UserID uint
	User   User
}

// The models as they were before the second migration.
func firstModels() []any {
	type Comment struct {
		ID     uint
		PostID uint
		Body   string
	}
	type Post struct {
		ID       uint
		Title    string
		AuthorID uint
		Author   User
		Tags     []Tag `gorm:"many2many:posts_tags"`
		Comments []Comment
	}
	return []any{&User{}, &Tag{}, &Post{}, &Comment{}}
}

// A model with keys of 32 bits.
type Category struct {
	ID       int32
	ParentID *int32
	Parent   *Category
}

// A model with two defaults, because GORM takes its key for an automatic one.
type Invoice struct {
	ID int64 `gorm:"primaryKey;default:snowflake_nextval()"`
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func write(db *gorm.DB) {
	alice, bob := User{Name: "Alice"}, User{Name: "Bob"}
	check(db.Create(&alice).Error)
	check(db.Create(&bob).Error)
	post := Post{
		Title:    "Tea",
		AuthorID: alice.ID,
		EditorID: &bob.ID,
		Tags:     []Tag{{Name: "drinks"}, {Name: "kitchen"}},
		Comments: []Comment{{Body: "How long?"}},
	}
	check(db.Create(&post).Error)
	like := Like{PostID: post.ID, UserID: bob.ID}
	check(db.Create(&like).Error)

	fmt.Println("users", alice.ID)
	fmt.Println("users", bob.ID)
	fmt.Println("posts", post.ID)
	for _, tag := range post.Tags {
		fmt.Println("tags", tag.ID)
	}
	fmt.Println("comments", post.Comments[0].ID)
	fmt.Println("likes", like.ID)

	var read Post
	check(db.Joins("Author").Joins("Editor").Preload("Tags").Preload("Comments").First(&read, post.ID).Error)
	fmt.Printf("%s by %s, edited by %s: %d tags, %q\n",
		read.Title, read.Author.Name, read.Editor.Name, len(read.Tags), read.Comments[0].Body)
}

func main() {
	db, err := gorm.Open(postgres.Open(""), &gorm.Config{})
	check(err)
	switch os.Args[1] {
	case "first":
		check(db.AutoMigrate(firstModels()...))
	case "second":
		check(db.AutoMigrate(&User{}, &Tag{}, &Post{}, &Comment{}, &Like{}))
	case "write":
		write(db)
	case "narrow":
		check(db.AutoMigrate(&Category{}))
	case "automatic":
		check(db.AutoMigrate(&Invoice{}))
	}
}
