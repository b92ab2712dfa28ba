<?php

use Doctrine\DBAL\DriverManager;
use Doctrine\ORM\Configuration;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Mapping\Driver\AttributeDriver;

require 'vendor/autoload.php';
require 'snowflake.php';

$configuration = new Configuration();
$configuration->setMetadataDriverImpl(new AttributeDriver([]));
$configuration->setProxyDir(sys_get_temp_dir());
$configuration->setProxyNamespace('Proxies');
$configuration->setSchemaManagerFactory(new SnowflakeSchemaManagerFactory());
$connection = DriverManager::getConnection(
    [
        'driver' => 'pdo_pgsql',
        'host' => getenv('PGHOST'),
        'user' => getenv('PGUSER'),
        'dbname' => getenv('PGDATABASE'),
    ],
    $configuration,
);
$manager = new EntityManager($connection, $configuration);
