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

// A post as it was before the second migration.
type First struct {
	ID       uint
	Title    string
	AuthorID uint
	Author   User
	Tags     []Tag `gorm:"many2many:posts_tags;joinForeignKey:PostID"`
}

func (First) TableName() string { return "posts" }

type Post struct {
	First    `gorm:"embedded"`
	EditorID *uint
	Editor   *User
	Comments []Comment
}

type Comment struct {
	ID       uint
	PostID   uint
	AuthorID uint
	Author   User
	Body     string
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

func main() {
	db, err := gorm.Open(postgres.Open(""), &gorm.Config{})
	check(err)
	switch os.Args[1] {
	case "first":
		check(db.AutoMigrate(&User{}, &Tag{}, &First{}))
	case "write":
		users := []User{{Name: "Ann"}, {Name: "Bob"}}
		check(db.Create(&users).Error)
		tags := []Tag{{Name: "drinks"}, {Name: "kitchen"}, {Name: "garden"}}
		check(db.Create(&tags).Error)
		post := First{Title: "Tea", AuthorID: users[0].ID, Tags: tags[:2]}
		check(db.Create(&post).Error)
		fmt.Printf("users %d\nusers %d\nposts %d\n", users[0].ID, users[1].ID, post.ID)
		for _, tag := range tags {
			fmt.Println("tags", tag.ID)
		}
		var read First
		check(db.Joins("Author").Preload("Tags").First(&read, post.ID).Error)
		fmt.Printf("%s by %s: %s, %s\n", read.Title, read.Author.Name, read.Tags[0].Name, read.Tags[1].Name)
	case "second":
		check(db.AutoMigrate(&User{}, &Tag{}, &Post{}, &Comment{}))
	case "comment":
		var bob User
		check(db.First(&bob, "name = ?", "Bob").Error)
		var post Post
		check(db.First(&post).Error)
		comment := Comment{PostID: post.ID, AuthorID: bob.ID, Body: "How long?"}
		check(db.Create(&comment).Error)
		fmt.Println("comments", comment.ID)
		check(db.Model(&post).Update("editor_id", bob.ID).Error)
		var read Post
		check(db.Joins("Editor").Preload("Comments").First(&read, post.ID).Error)
		fmt.Printf("%s, edited by %s: %s\n", read.Title, read.Editor.Name, read.Comments[0].Body)
	case "narrow":
		check(db.AutoMigrate(&Category{}))
	case "automatic":
		check(db.AutoMigrate(&Invoice{}))
	}
}
