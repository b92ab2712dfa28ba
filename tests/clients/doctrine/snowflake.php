<?php

use Doctrine\DBAL\Connection;
use Doctrine\DBAL\Schema\AbstractSchemaManager;
use Doctrine\DBAL\Schema\PostgreSQLSchemaManager;
use Doctrine\DBAL\Schema\SchemaManagerFactory;
use Doctrine\ORM\EntityManagerInterface;
use Doctrine\ORM\Id\AbstractIdGenerator;

/** Takes the ID before the row is inserted. */
final class SnowflakeGenerator extends AbstractIdGenerator
{
    public function generateId(EntityManagerInterface $em, $entity): mixed
    {
        return $em->getConnection()->fetchOne('SELECT snowflake_nextval()');
    }
}

/** Does not show the schemas that come with the extensions. */
final class SnowflakeSchemaManager extends PostgreSQLSchemaManager
{
    public function listSchemaNames(): array
    {
        $own = ['snowflake_internal'];
        return array_values(array_diff(parent::listSchemaNames(), $own));
    }

    /** Version 3 of DBAL asks here. */
    public function listNamespaceNames(): array
    {
        return $this->listSchemaNames();
    }
}

final class SnowflakeSchemaManagerFactory implements SchemaManagerFactory
{
    public function createSchemaManager(Connection $connection): AbstractSchemaManager
    {
        return new SnowflakeSchemaManager($connection, $connection->getDatabasePlatform());
    }
}
