<?php

use Doctrine\DBAL\Types\Types;
use Doctrine\ORM\Mapping as ORM;

#[ORM\Entity, ORM\Table(name: 'orders')]
class Order
{
    #[ORM\Id, ORM\GeneratedValue(strategy: 'CUSTOM')]
    #[ORM\CustomIdGenerator(class: SnowflakeGenerator::class)]
    #[ORM\Column(type: Types::BIGINT, options: ['default' => 'snowflake_nextval()'])]
    public int|string|null $id = null;

    #[ORM\Column(type: Types::TEXT)]
    public string $item;
}
