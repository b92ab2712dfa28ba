library(RPostgreSQL)

# The connection is that of the environment: PGHOST and others, or what is set here.
connection <- dbConnect(PostgreSQL(), host = Sys.getenv("PGHOST"), user = Sys.getenv("PGUSER"),
                        dbname = Sys.getenv("PGDATABASE"))

# Read as text, an ID is right. As a number, it is a double.
inserted <- dbGetQuery(connection, "
    INSERT INTO orders (item) VALUES ('tea'), ('milk'), ('sugar')
    RETURNING item, id::text AS id, id AS number")
cat(paste(inserted$item, inserted$id), sep = "\n")
cat(class(inserted$number), sprintf("%.0f", inserted$number), "\n")
invisible(dbDisconnect(connection))
